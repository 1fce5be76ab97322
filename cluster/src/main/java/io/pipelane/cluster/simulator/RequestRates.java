package io.pipelane.cluster.simulator;

import java.util.SplittableRandom;

/**
 * Requests a second on each device, minute by minute: a day's wave between 20 and 190 for each
 * service (MuxFlow §7.1), uneven over its devices, with noise and bursts. For any thread.
 */
public final class RequestRates {
  private static final double LEAST = 20;
  private static final double MOST = 190;
  private static final int MINUTES_OF_A_DAY = 24 * 60;

  /** How much sharper the peak is than a cosine's. */
  private static final double SHARPNESS = 1.5;

  /** Of the logarithms of what devices of a service get. */
  private static final double UNEVEN = 0.15;

  private static final double NOISE = 0.03;
  private static final double NOISE_STAYS = 0.9;

  /** Of a minute in which a burst begins: twice in three days for a device. */
  private static final double BURST_BEGINS = 1.0 / 2_160;

  private static final int BURST_MINUTES = 10;
  private static final double BURST = 1.5;

  private final float[][] rates;

  private RequestRates(float[][] rates) {
    this.rates = rates;
  }

  /** Draws two days, of which the second repeats the first; the same seed draws the same. */
  public static RequestRates draw(int devices, long seed) {
    float[][] rates = new float[MINUTES_OF_A_DAY][devices];
    SplittableRandom random = new SplittableRandom(seed);
    for (int device = 0; device < devices; device++) {
      OnlineService service = service(device);
      double part = Math.exp(UNEVEN * random.nextGaussian());
      double noise = 0;
      int burst = 0;
      for (int minute = 0; minute < MINUTES_OF_A_DAY; minute++) {
        noise = NOISE_STAYS * noise + NOISE * random.nextGaussian();
        burst = random.nextDouble() < BURST_BEGINS ? BURST_MINUTES : Math.max(0, burst - 1);
        double phase = 2 * Math.PI * (minute / 60.0 - service.peakHour()) / 24;
        double wave = Math.pow((1 + Math.cos(phase)) / 2, SHARPNESS);
        double rate = (LEAST + (MOST - LEAST) * wave) * part * Math.exp(noise);
        rates[minute][device] = (float) (Math.clamp(rate, LEAST, MOST) * (burst > 0 ? BURST : 1));
      }
    }
    return new RequestRates(rates);
  }

  /** The service that a device has: each has every third device. */
  static OnlineService service(int device) {
    return OnlineService.ALL.get(device % OnlineService.ALL.size());
  }

  /** How many devices have requests. */
  public int devices() {
    return rates[0].length;
  }

  /** Requests a second, in the minute from the beginning. */
  public double at(int minute, int device) {
    return rates[minute % MINUTES_OF_A_DAY][device];
  }

  /** The mean of some minutes before one; of the minute itself at the beginning. */
  double meanBefore(int minute, int minutes, int device) {
    int from = Math.max(0, minute - minutes);
    if (from == minute) {
      return at(minute, device);
    }
    double sum = 0;
    for (int i = from; i < minute; i++) {
      sum += at(i, device);
    }
    return sum / (minute - from);
  }
}
