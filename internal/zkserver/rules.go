package zkserver

type rule struct{}

type journal struct{ limit int }
