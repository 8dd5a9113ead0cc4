"""Machines that are reached by the user's own ssh: calls of the agent there, and tunnels.

Host keys are checked as the user's ssh does; no option of ours touches that. Where there is no
terminal nothing is asked, so that nothing hangs.
"""
