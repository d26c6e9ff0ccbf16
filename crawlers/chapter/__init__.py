"""Small programs, from a blocking fetch to workers on asyncio. docs/chapter.md is for teachers."""

BY_HAND = ("blocking", "threads", "spin", "callbacks", "generators", "yield_from", "queue")
CRAWLS = (*BY_HAND, "async_await", "streams", "redis_workers")
STEPS = (*CRAWLS, "countdown", "awaitable", "sleeper")
