"""The conductor: plan, concurrency, the boundary between exceptions and outcomes.

`conductor` runs it all (`judge_run`); `spec` is what a user asks for, `plan` what is made of it, `estimate`
what it would cost. Nothing is loaded here: whoever needs one of them has no use for the others.
"""
