"""From numbers to what people read: tables, charts, the page."""
