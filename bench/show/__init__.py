"""What is shown, as values: measurements, figures and their units. Nothing here draws."""
