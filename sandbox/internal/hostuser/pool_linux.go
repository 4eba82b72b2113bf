package hostuser

// The numbers that are given out. systemd calls those from 1879048192 to
// 2147483647 unused (systemd.io/UIDS-GIDS); Linux has 65534 for users that it
// cannot show.
const (
	First = 2_000_000_000
	Count = 256
)
