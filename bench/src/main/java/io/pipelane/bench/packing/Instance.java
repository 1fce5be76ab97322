package io.pipelane.bench.packing;

import io.pipelane.loadgen.zoo.ZooModel;
import java.util.ArrayList;
import java.util.List;

/**
 * A model that is asked now and then.
 *
 * @param runNanos what a run takes when it has the device for itself
 */
record Instance(String name, long weightBytes, long runNanos) {
  private static final long NANOS_PER_LAYER = 20_000;

  /** Salus' 14, in the order of its artefact. */
  private static final List<ZooModel> MODELS =
      List.of(
          ZooModel.VGG19,
          ZooModel.VGG16,
          ZooModel.VGG11,
          ZooModel.RESNET50,
          ZooModel.RESNET101,
          ZooModel.RESNET152,
          ZooModel.OVERFEAT,
          ZooModel.INCEPTION_V3,
          ZooModel.INCEPTION_V4,
          ZooModel.GOOGLENET,
          ZooModel.ALEXNET,
          ZooModel.SEQ2SEQ_SMALL,
          ZooModel.VAE,
          ZooModel.SUPERRES);

  /** Each of Salus' models so many times. */
  static List<Instance> all(int copies) {
    List<Instance> all = new ArrayList<>();
    for (ZooModel model : MODELS) {
      long bytes = model.weightBytes();
      long nanos = model.layers() * NANOS_PER_LAYER;
      for (int copy = 1; copy <= copies; copy++) {
        all.add(new Instance(model.label() + "-" + copy, bytes, nanos));
      }
    }
    return all;
  }
}
