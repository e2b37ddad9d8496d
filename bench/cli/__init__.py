"""What the command line can do, a function per command. Heavy modules load inside them."""
