package clients

// Outside lists the servers that a client starts by itself for a folder, in all of
// its files: calls of these do not pass the gate. Servers that are switched off
// are left out. The errors are those of files that cannot be read.
func (c *Client) Outside(f *Folders) (servers []Server, faults []error) {
	for _, path := range c.Files(f) {
		file, err := Read(*c, path, f)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		for _, s := range file.Servers() {
			if !s.Off {
				servers = append(servers, s)
			}
		}
	}
	return servers, faults
}
