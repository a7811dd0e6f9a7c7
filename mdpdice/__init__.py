"""mdpdice: declare a game, solve it with interchangeable back-ends, certify the answer."""
