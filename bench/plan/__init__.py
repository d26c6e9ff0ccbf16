"""What a campaign will measure, decided before anything runs."""
