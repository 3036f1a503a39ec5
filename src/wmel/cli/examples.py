"""The examples that the help of each verb ends with."""

EXAMPLES = {
    "run": """\b
Examples:
  wmel run --env maze_toy --policy tabular-world-model --episodes 30 --output run.json
  wmel run --env two_room_toy --policy greedy --perturb-prob 0.3 --episodes 50
  wmel run --env maze_toy --policy cem --plan-horizon 15 --execute 3 --markdown scorecard.md
  wmel run --env maze_toy --perturb-prob 1 --perturbation composite:drop-next-2+env-default
  wmel run --env dmc_acrobot --policy random-shooting --candidates 50 --plan-horizon 15 --init fixed
  wmel run --env dmc:walker-walk --policy mppi --horizon 200 --episodes 4
  wmel run --env dmc:cartpole-swingup --policy random --criterion 'reward>=0.6@sustained:10' --trajectories steps.npz
  wmel run --env dmc:cartpole-swingup --policy prior --model models/tdmpc2 --criterion 'reward>=0.6'
  wmel run --env maze_toy --policy mppi --model my_package.my_module:model --deadline-ms 5
  wmel run --env maze_toy --policy cem --elites 8 --set planner.smoothing=0.2
""",
    "sweep": """\b
Examples:
  wmel sweep --env maze_toy --plan-horizons 5,10,15,20,30 --output sweep.json
  wmel sweep --env two_room_toy --policy cem --plan-horizons 4,8,16 --epsilon 0.05
  wmel sweep --env dmc_acrobot --policy cem --init fixed --plan-horizons 1,5,10,15
  wmel sweep --env maze_toy --episodes 500 --markdown sweep.md
  wmel sweep --env maze_toy --policy cem --sweep planner.elites=4,8,12
""",
    "cpg": """\b
Examples:
  wmel cpg --env dmc_cartpole --model models/cartpole --episodes 30 --seeds 0,1,2 --output runs/cartpole
  wmel cpg --env dmc_acrobot --init fixed --model models/acrobot --planner cem --preset paper
  wmel cpg --env dmc_reacher --model models/small --model models/large --anytime --max-episodes 150
  wmel cpg --env dmc_cartpole --model models/tdmpc2 --planner cem --rollout decoded
""",
    "train": """\b
Examples:
  wmel train mlp --env dmc_acrobot --transitions 2000 --output models/acrobot
  wmel train mlp --env dmc:cartpole-swingup --transitions 20000 --collect '3*random+cem' --output models/cartpole
  wmel train latent-mlp --env dmc:cartpole-swingup --transitions 20000 --output models/cartpole-latent
  wmel train tdmpc2 --env dmc:cartpole-swingup --size 1 --updates 100000 --device cuda --output models/my-cartpole
  wmel train tdmpc2 --data models/my-cartpole/episodes --updates 20000 --checkpoints 8 --output models/offline
  wmel train mlp --env dmc:cartpole-swingup --data models/my-cartpole/episodes --output models/cartpole-mlp-on-td1
  wmel train mlp --env maze_toy --output models/maze
  wmel train mlp --help
""",
    "convert": """\b
Examples:
  wmel convert cartpole-swingup-1.pt --env dmc:cartpole-swingup --action-repeat 2 --output models/published
""",
    "study": """\b
Examples:
  wmel study studies/paper/acrobot-pooled.toml --dry-run
  wmel study studies/paper/acrobot-pooled.toml --output runs/acrobot-pooled --executor processes --workers 2
  wmel study my.toml --only '*/cem*' --limit 4
  wmel study my.toml --device cuda
Run it again after an interruption: stored blocks are kept, failed ones are run again. Then: wmel report DIR
""",
    "report": """\b
Examples:
  wmel report runs/acrobot-pooled
  wmel report runs/acrobot-pooled --criterion 'reward>=0.8' --output runs/stricter
""",
    "compare": """\b
Examples:
  wmel compare before.json after.json
  wmel compare runs/cartpole-old runs/cartpole-new --output compared.json
  wmel compare runs/study-main runs/study-branch --fail-if-worse 0.05
""",
    "show": """\b
Examples:
  wmel show run.json
  wmel show sweep.json --markdown sweep.md
""",
    "power": """\b
Examples:
  wmel power --oracle 0.9 --learned 0.5
  wmel power --oracle 0.5 --learned 0.3 --paired --phi 0.3
  wmel power --oracle 0.9 --learned 0.9 --equivalence 0.1
  wmel power --oracle 0.5 --learned 0.3 --half-width 0.05
  wmel power --oracle 0.5 --learned 0.3 --n 50 --json
""",
    "list": """\b
Examples:
  wmel list
  wmel list policies
  wmel list cem
  wmel list mlp --env maze_toy
""",
    "check": """\b
Examples:
  wmel check maze_toy
  wmel check dmc:walker-walk
  wmel check cem
  wmel check drop-next-3
  wmel check success@20
  wmel check my_package.my_module:MyModel --env maze_toy
""",
    "explain": """\b
Examples:
  wmel explain gap
  wmel explain MODEL BOTTLENECK
  wmel explain planner.elites
  wmel explain success@20 --json
  wmel explain
""",
    "doctor": """\b
Examples:
  wmel doctor
""",
    "diagnose": """\b
Examples:
  wmel diagnose prediction-error --env dmc_cartpole --model models/cartpole --steps 20
  wmel diagnose prediction-error --env dmc_cartpole --model models/small --model models/large --output runs/errors
  wmel diagnose alignment --env dmc:cartpole-swingup --model models/latent --states 32
  wmel diagnose prediction-error --help
""",
    "esnr": """\b
Examples:
  wmel esnr --model models/cartpole --env dmc:cartpole-swingup --methods fog,zog,cem --output runs/esnr
  wmel esnr --model models/mlp --model models/latent --env dmc:cartpole-swingup --objective smooth-upright
  wmel esnr --model oracle --env dmc_acrobot --methods zog,cem --states 128 --source cem
  wmel esnr toy --output runs/toy
  wmel esnr over-training runs/seed0 runs/seed1 --env dmc:cartpole-swingup --output runs/over-training
""",
    "esnr toy": """\b
Examples:
  wmel esnr toy --output runs/toy
  wmel esnr toy --speeds 5,6,7,8 --seeds 1000 --output runs/toy-wide
""",
    "esnr over-training": """\b
Examples:
  wmel esnr over-training runs/seed0 --env dmc:cartpole-swingup --output runs/over-training
  wmel esnr over-training runs/seed0 runs/seed1 runs/seed2 --env dmc:cartpole-swingup --methods fog
    --beside returns.csv --output runs/over-training
""",
}
