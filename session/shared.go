package session

type shared struct{}
