"""What the model server's tests stand on: the server in this process, a client, a file store, adapters by peft."""
