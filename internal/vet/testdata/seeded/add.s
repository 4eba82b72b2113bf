// The body of add.
