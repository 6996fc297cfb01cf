package double_test

func checkDeclared(from, on, to string) {}
