package sandbox

import "strconv"

func procPath(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }
