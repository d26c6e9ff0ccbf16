"""From records to numbers you can defend. Nothing here runs a trial."""
