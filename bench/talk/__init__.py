"""A talk made from the records of a campaign: slides, notes, questions from the floor."""
