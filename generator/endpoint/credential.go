package endpoint

// Credential is the header that carries a key, as the user or the protocol wants it: Authorization with a bearer token unless one of them
// says otherwise.
func (c *Config) Credential(key string) (header, value string) {
	if c.KeyHeader != "" {
		return c.KeyHeader, key
	}
	if build := constructor(c.Type); build != nil {
		if traits := build(c).Traits(); traits.KeyHeader != "" {
			return traits.KeyHeader, key
		}
	}
	return "Authorization", "Bearer " + key
}
