"""Sweeps whose processes, nodes, network and disks fail while they run."""
