package io.pipelane.cluster.speed;

import io.pipelane.cluster.profile.WorkloadProfile;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.encog.engine.network.activation.ActivationLinear;
import org.encog.engine.network.activation.ActivationReLU;
import org.encog.mathutil.randomize.XaiverRandomizer;
import org.encog.mathutil.randomize.generate.MersenneTwisterGenerateRandom;
import org.encog.ml.data.MLDataPair;
import org.encog.ml.data.basic.BasicMLDataSet;
import org.encog.neural.networks.BasicNetwork;
import org.encog.neural.networks.layers.BasicLayer;
import org.encog.neural.networks.training.propagation.sgd.StochasticGradientDescent;
import org.encog.neural.networks.training.propagation.sgd.update.MomentumUpdate;

/**
 * A multi-layer perceptron that predicts speeds on one type of GPU: four layers, 64 × 64 hidden
 * ones, trained by stochastic gradient descent with momentum (MuxFlow §5, §6). For any thread.
 */
public final class PerceptronPredictor implements SpeedPredictor {
  private static final int FEATURES = 9;
  private static final int HIDDEN = 64;
  private static final double MOMENTUM = 0.9;
  private static final double LEARNING_RATE = 1e-3;

  /** What the rate has fallen to at the end, of that at the beginning. */
  private static final double LAST_RATE = 0.02;

  private static final int BATCH = 16;
  private static final int FEWEST_PAIRS = 10;

  private final BasicNetwork network;
  private final double[] means;
  private final double[] deviations;

  private PerceptronPredictor(BasicNetwork network, double[] means, double[] deviations) {
    this.network = network;
    this.means = means;
    this.deviations = deviations;
  }

  /**
   * Learns from pairs that were measured.
   *
   * @param epochs how often each pair is looked at
   * @param seed of the first weights and of the order of pairs
   * @throws IllegalArgumentException for less than ten pairs
   */
  public static PerceptronPredictor train(List<MeasuredPair> pairs, int epochs, long seed) {
    if (pairs.size() < FEWEST_PAIRS || epochs < 1) {
      throw new IllegalArgumentException(
          "%d pairs and %d epochs; at least %d and 1"
              .formatted(pairs.size(), epochs, FEWEST_PAIRS));
    }
    double[][] inputs = pairs.stream().map(PerceptronPredictor::features).toArray(double[][]::new);
    double[][] outputs =
        pairs.stream().map(pair -> new double[] {pair.throughput()}).toArray(double[][]::new);
    double[] means = new double[FEATURES];
    double[] deviations = new double[FEATURES];
    for (int feature = 0; feature < FEATURES; feature++) {
      int place = feature;
      means[feature] = Arrays.stream(inputs).mapToDouble(row -> row[place]).average().orElse(0);
      double variance =
          Arrays.stream(inputs)
              .mapToDouble(row -> Math.pow(row[place] - means[place], 2))
              .average()
              .orElse(0);
      deviations[feature] = Math.max(1e-6, Math.sqrt(variance));
    }
    for (double[] row : inputs) {
      normalize(row, means, deviations);
    }
    BasicNetwork network = network(seed);
    descend(network, new BasicMLDataSet(inputs, outputs), epochs, seed);
    return new PerceptronPredictor(network, means, deviations);
  }

  private static BasicNetwork network(long seed) {
    BasicNetwork network = new BasicNetwork();
    network.addLayer(new BasicLayer(null, true, FEATURES));
    network.addLayer(new BasicLayer(new ActivationReLU(), true, HIDDEN));
    network.addLayer(new BasicLayer(new ActivationReLU(), true, HIDDEN));
    network.addLayer(new BasicLayer(new ActivationLinear(), false, 1));
    network.getStructure().finalizeStructure();
    new XaiverRandomizer(seed).randomize(network);
    return network;
  }

  private static void descend(BasicNetwork network, BasicMLDataSet pairs, int epochs, long seed) {
    StochasticGradientDescent descent =
        new StochasticGradientDescent(network, pairs, new MersenneTwisterGenerateRandom(seed));
    descent.setUpdateRule(new MomentumUpdate());
    descent.setMomentum(MOMENTUM);
    SplittableRandom random = new SplittableRandom(seed);
    MLDataPair[] order = pairs.getData().toArray(MLDataPair[]::new);
    for (int epoch = 0; epoch < epochs; epoch++) {
      double progress = (double) epoch / epochs;
      descent.setLearningRate(LEARNING_RATE * Math.pow(LAST_RATE, progress));
      shuffle(order, random);
      for (int i = 0; i < order.length; i++) {
        descent.process(order[i]);
        if (i % BATCH == BATCH - 1 || i == order.length - 1) {
          descent.update();
        }
      }
    }
  }

  private static void shuffle(MLDataPair[] order, SplittableRandom random) {
    for (int i = order.length - 1; i > 0; i--) {
      int other = random.nextInt(i + 1);
      MLDataPair pair = order[i];
      order[i] = order[other];
      order[other] = pair;
    }
  }

  @Override
  public double normalizedThroughput(
      WorkloadProfile online, WorkloadProfile offline, double share) {
    double[] input = features(online, offline, share);
    normalize(input, means, deviations);
    double[] output = new double[1];
    synchronized (network) { // It computes in arrays of its own.
      network.compute(input, output);
    }
    return Math.clamp(output[0], 0.0, 1.0);
  }

  /**
   * The mean of what predictions are off by, over the mean of what was measured.
   *
   * @param pairs that it has not learned from
   */
  public double error(List<MeasuredPair> pairs) {
    double off = 0;
    double sum = 0;
    for (MeasuredPair pair : pairs) {
      double predicted = normalizedThroughput(pair.online(), pair.offline(), pair.share());
      off += Math.abs(predicted - pair.throughput());
      sum += pair.throughput();
    }
    return off / sum;
  }

  private static double[] features(MeasuredPair pair) {
    return features(pair.online(), pair.offline(), pair.share());
  }

  /** Times differ by orders of magnitude, so their logarithms count. */
  private static double[] features(WorkloadProfile online, WorkloadProfile offline, double share) {
    return new double[] {
      online.utilization(),
      online.activity(),
      online.occupancy(),
      Math.log(online.separateMillis()),
      offline.utilization(),
      offline.activity(),
      offline.occupancy(),
      Math.log(offline.separateMillis()),
      share
    };
  }

  private static void normalize(double[] row, double[] means, double[] deviations) {
    for (int i = 0; i < row.length; i++) {
      row[i] = (row[i] - means[i]) / deviations[i];
    }
  }
}
