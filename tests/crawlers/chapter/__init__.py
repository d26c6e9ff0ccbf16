"""The steps of the chapter, their exercises, and the trace of the models."""
