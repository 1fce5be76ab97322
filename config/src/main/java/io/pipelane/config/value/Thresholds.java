package io.pipelane.config.value;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The thresholds from which on a metric of a device is worrying, in percent. Better than {@code
 * healthy} is good, at {@code unhealthy} no more offline work comes, at {@code overlimit} it stops.
 * They rise, or fall for a metric of which less is worse.
 */
public record Thresholds(int healthy, int unhealthy, int overlimit) {
  /** A metric that is not looked at. */
  public static final Thresholds OFF = new Thresholds(-1, -1, -1);

  public static final String FORM = "three percentages like 90/95/98, or off";
  private static final Pattern THREE = Pattern.compile("(\\d{1,3})/(\\d{1,3})/(\\d{1,3})");
  private static final int MOST = 100;

  /** Reads {@code 90/95/98} or {@code off}. */
  public static Thresholds parse(String text) {
    if (text.equalsIgnoreCase("off")) {
      return OFF;
    }
    Matcher three = THREE.matcher(text);
    if (!three.matches()) {
      throw new IllegalArgumentException("\"" + text + "\" is not " + FORM);
    }
    Thresholds read =
        new Thresholds(
            Integer.parseInt(three.group(1)),
            Integer.parseInt(three.group(2)),
            Integer.parseInt(three.group(3)));
    if (!(read.rise() || read.fall()) || Math.max(read.healthy, read.overlimit) > MOST) {
      throw new IllegalArgumentException("they must rise, or fall, and be at most " + MOST);
    }
    return read;
  }

  /** Whether none is below the one before; equal ones rise and fall. */
  public boolean rise() {
    return healthy <= unhealthy && unhealthy <= overlimit;
  }

  /** Whether none is above the one before. */
  public boolean fall() {
    return healthy >= unhealthy && unhealthy >= overlimit;
  }

  public boolean isOff() {
    return healthy < 0;
  }

  /** As it is written in a configuration. */
  @Override
  public String toString() {
    return isOff() ? "off" : healthy + "/" + unhealthy + "/" + overlimit;
  }
}
