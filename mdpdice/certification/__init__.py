"""Bounds for an answer, whoever gave it, and the verdict; what verifies them is in `mdpdice.certification.checking`."""
