"""Answers recorded once, and decoded again on paper by any policy: deterministic, without models.

A trace holds, for every position of an answer, what each drafter would have proposed and how much
of it would have been accepted. With a curve of pass costs that is all a policy's time depends on.
"""
