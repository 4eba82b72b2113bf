package app

// taskScope is the scope of the store for what sessions were narrowed to.
const taskScope = "tasks"

