"""What a policy is worth: evaluation, distribution of totals, simulation, plays, game trees."""
