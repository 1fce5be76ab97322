package io.pipelane.demo.answer;

import io.pipelane.demo.input.Rectangle;
import io.pipelane.demo.protocol.Tensor;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * A place where the detector sees text.
 *
 * @param confidence mean probability over the pixels of its core, 0 to 1
 */
public record DetectedText(Rectangle box, double confidence) {
  /*
   * Differentiable binarization (Liao et al., AAAI 2020), the reading of its probability map: pixels
   * above a threshold that touch form the core of a text, which training has shrunk; its box grows
   * back by area x ratio / perimeter on each side. Boxes here are upright.
   */
  private static final float PIXEL_THRESHOLD = 0.3f;
  private static final double BOX_THRESHOLD = 0.6;
  private static final double GROWTH = 1.5;

  /**
   * The texts on one page, from the top.
   *
   * @param probabilities FP32 [1,1,height,width]
   */
  public static List<DetectedText> of(Tensor probabilities) {
    int height = Math.toIntExact(probabilities.shape().dimension(2));
    int width = Math.toIntExact(probabilities.shape().dimension(3));
    float[] map = probabilities.floats();
    boolean[] seen = new boolean[map.length];
    List<DetectedText> texts = new ArrayList<>();
    for (int pixel = 0; pixel < map.length; pixel++) {
      if (!seen[pixel] && map[pixel] > PIXEL_THRESHOLD) {
        DetectedText text = grow(core(map, seen, pixel, width), width, height);
        if (text.confidence >= BOX_THRESHOLD) {
          texts.add(text);
        }
      }
    }
    return texts;
  }

  /** Collects the pixels above the threshold that touch a first one. */
  private static DetectedText core(float[] map, boolean[] seen, int first, int width) {
    int left = first % width;
    int right = left;
    int top = first / width;
    int bottom = top;
    int count = 0;
    double sum = 0;
    ArrayDeque<Integer> border = new ArrayDeque<>();
    seen[first] = true;
    border.add(first);
    while (!border.isEmpty()) {
      int pixel = border.remove();
      int x = pixel % width;
      int y = pixel / width;
      left = Math.min(left, x);
      right = Math.max(right, x);
      top = Math.min(top, y);
      bottom = Math.max(bottom, y);
      count++;
      sum += map[pixel];
      for (int neighbour : new int[] {pixel - 1, pixel + 1, pixel - width, pixel + width}) {
        boolean sameRow = neighbour / width == y;
        boolean inside =
            neighbour >= 0 && neighbour < map.length && (sameRow || neighbour % width == x);
        if (inside && !seen[neighbour] && map[neighbour] > PIXEL_THRESHOLD) {
          seen[neighbour] = true;
          border.add(neighbour);
        }
      }
    }
    return new DetectedText(
        new Rectangle(left, top, right - left + 1, bottom - top + 1), sum / count);
  }

  private static DetectedText grow(DetectedText core, int width, int height) {
    Rectangle box = core.box;
    double area = (double) box.width() * box.height();
    int margin = (int) Math.round(area * GROWTH / (2.0 * (box.width() + box.height())));
    int left = Math.max(0, box.x() - margin);
    int top = Math.max(0, box.y() - margin);
    int right = Math.min(width, box.right() + margin);
    int bottom = Math.min(height, box.bottom() + margin);
    return new DetectedText(new Rectangle(left, top, right - left, bottom - top), core.confidence);
  }
}
