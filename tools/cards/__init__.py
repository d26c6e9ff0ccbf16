"""Cards: what each backend is, and what the records say of it, for readers in a hurry."""
