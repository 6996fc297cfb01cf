package contend_test

func checkDeclared(from, ev, to string) {}
