"""How a launch goes, shown to a person: the state, the live table or plain lines, a full disk."""
