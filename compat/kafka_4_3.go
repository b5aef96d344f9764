package compat

// kafka43 is the build of 4.3: fetch sizes are configured (KIP-1219).
func kafka43() Profile {
	p := kafka42()
	p.Build, p.Covers = "4.3.0", []string{"4.3.0", "4.3.1"}
	p.Rules.ConfiguredFetchBytes = true
	return p
}
