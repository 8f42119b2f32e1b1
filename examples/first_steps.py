# %%
"""From a trained network to the accelerator, on the digits that come with the package: a notebook as a program."""

import numpy as np

import vta
from vta.demo import PIXEL_MAX, load_digits, model_path

digits = load_digits()
samples = digits.calibration.astype(np.float32) / PIXEL_MAX
images = digits.x.astype(np.float32) / PIXEL_MAX

# %% The accelerator and the network
hw = vta.HardwareConfig.named("sim")
net = vta.load_model(model_path())
print(net)

# %% Integer operators, programs, and what runs where
quantized = vta.quantize(net, hw, calibration={"image": samples})
module = vta.compile(quantized, hw, schedules=vta.schedules(fastest=True))
print(module)
print(module.placements)

# %% A run that counts clock cycles, compared with the reference
with vta.open_device("cycle", hw) as device, device.load(module) as loaded:
    report = loaded.run(image=images[:1])
    print(report)
    print(report.by_layer)
    print(loaded.check(image=images[:1]))
    classes = loaded.run_batches(images).outputs["logits"].argmax(axis=1)
print(f"{np.mean(classes == digits.y):.1%} of {len(images)} digits are read right")

# %% Better schedules
best = vta.tune(quantized, hw, trials=16, tuner="random")
print(best)
with vta.open_device("cycle", hw) as device, device.load(vta.compile(quantized, hw, schedules=best)) as loaded:
    print(f"{loaded.run(image=images[:1]).cycles:,} cycles, {report.cycles:,} before")
