"""logic_steps.py - training steps of rules: (Takt's model, its data, the function that makes it,
the steps of peers)."""
import os


def gradient_program(_root, out):
    """Noisy-or of two 256 x 256 matrices of parameters, with the gradients of both."""
    path = os.path.join(out, "gradient.takt")
    with open(path, "w", encoding="utf-8") as file:
        file.write("model m(x: f32[batch]) {\n"
                   "  param a: f32[256, 256] = uniform(0, 1)\n"
                   "  param b: f32[256, 256] = uniform(0, 1)\n"
                   "  y = semiring_matmul(a, b, semiring=noisy_or)\n"
                   "  return loss = reduce_mean(y) + reduce_mean(x)\n}\n")

    def data():
        import numpy
        numpy.savez(os.path.join(out, "gradient.npz"), x=numpy.zeros(1600, "f4"))

    def torch_step():
        import torch
        a, b = (torch.rand(256, 256, requires_grad=True) for _ in range(2))

        def step():
            a.grad = b.grad = None
            (1 - (1 - a[:, :, None] * b[None]).prod(1)).mean().backward()
            with torch.no_grad():
                a.sub_(0.1 * a.grad)
                b.sub_(0.1 * b.grad)
        return step
    return path, "gradient.npz", data, {"torch": torch_step}


def digit_net():
    """The network of the digits, and its optimizer."""
    import torch
    from torch import nn
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84),
        nn.ReLU(), nn.Linear(84, 10), nn.Softmax(-1))
    return net, torch.optim.SGD(net.parameters(), lr=0.01)


def deepproblog_step():
    """The same addition in DeepProbLog: exact, and the circuit of each sum is compiled once."""
    import contextlib
    import warnings
    warnings.simplefilter("ignore")  # of the engine that needs another Prolog
    import torch
    from deepproblog.engines import ExactEngine
    from deepproblog.model import Model
    from deepproblog.network import Network
    from deepproblog.query import Query
    from deepproblog.train import TrainObject
    from problog.logic import Constant, Term
    net, optimizer = digit_net()
    network = Network(net, "net", batching=True)
    network.optimizer = optimizer
    model = Model("nn(net, [X], Y, [0,1,2,3,4,5,6,7,8,9]) :: digit(X, Y).\n"
                  "adds(X, Y, Z) :- digit(X, A), digit(Y, B), Z is A + B.\n", [network], load=False)
    with contextlib.redirect_stdout(None):
        model.set_engine(ExactEngine(model), cache=True)
    x = torch.rand(64, 1, 28, 28)
    model.add_tensor_source("train", {(Constant(i),): x[i] for i in range(64)})
    a, b = Term("first"), Term("second")

    def picture(index):
        return Term("tensor", Term("train", Constant(index)))
    queries = [Query(Term("adds", a, b, Constant(total)),
                     substitution={a: picture(2 * i), b: picture(2 * i + 1)})
               for i, total in enumerate(torch.randint(0, 19, (32,)).tolist())]
    trainer, loss = TrainObject(model), model.solver.semiring.cross_entropy

    def step():
        model.train()
        model.optimizer.zero_grad()
        trainer.get_loss(queries, loss)
        model.optimizer.step()
    return step


def addition_program(root, out):
    """MNIST addition, a step of 32 pairs, on random pictures."""
    def data():
        import numpy
        rng = numpy.random.RandomState(1)
        numpy.savez(os.path.join(out, "pairs.npz"), pair=rng.rand(1600, 2, 28, 28).astype("f4"),
                    label=rng.randint(0, 19, 1600))

    def torch_step():
        import torch
        net, optimizer = digit_net()
        x, y = torch.rand(32, 2, 28, 28), torch.randint(0, 19, (32, 1))
        which = (torch.arange(10)[:, None] + torch.arange(10)[None]).reshape(-1)

        def step():
            rows = net(x.reshape(-1, 1, 28, 28)).reshape(-1, 2, 10)
            both = (rows[:, 0, :, None] * rows[:, 1, None]).reshape(32, 100)
            sums = torch.zeros(32, 19).index_add(1, which, both)
            optimizer.zero_grad()
            (-sums.gather(1, y).clamp_min(1e-30).log().mean()).backward()
            optimizer.step()
        return step
    return os.path.join(root, "examples", "addition.takt"), "pairs.npz", data, {
        "torch": torch_step, "deepproblog": deepproblog_step}


STEPS = {"gradient": gradient_program, "addition": addition_program}
