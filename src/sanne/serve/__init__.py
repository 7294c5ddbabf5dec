"""A server that embeds nodes with a fitted model, and stores what is added."""
