"""Numerical work on plain arrays: graph searches, the Bellman operator and the compiled loops behind both."""
