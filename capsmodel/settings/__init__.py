"""What a setting and a part are: kinds, profiles, and sentences about both."""
