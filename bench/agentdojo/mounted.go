package main

// failedPrefix begins the recorded result of a call that failed.
const failedPrefix = "ERROR: "

