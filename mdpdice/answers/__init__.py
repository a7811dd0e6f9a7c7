"""Answers: solutions and policies, and their files."""
