"""What a cluster needs of an account on AWS: it is checked, made, and deleted again."""
