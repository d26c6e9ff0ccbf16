"""What the long tests share: random broken sites, what must come of them, and odd machines."""
