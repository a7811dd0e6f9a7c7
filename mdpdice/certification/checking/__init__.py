"""The verifiers: they share no code with what proposes an answer or finds bounds, since they judge both."""
