"""Small programs, from a blocking fetch to workers on asyncio. docs/chapter.md is for teachers."""

CRAWLS = (  # ten that crawl, and three that do not
    *("blocking", "threads", "spin", "callbacks", "generators", "yield_from", "queue"),
    *("async_await", "streams", "redis_workers"),
)
STEPS = (*CRAWLS, "countdown", "awaitable", "sleeper")
