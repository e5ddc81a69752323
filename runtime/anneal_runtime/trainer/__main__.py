from anneal_runtime.trainer.main import main

main()
