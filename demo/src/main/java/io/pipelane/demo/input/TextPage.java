package io.pipelane.demo.input;

import io.pipelane.demo.protocol.Tensor;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;

/**
 * A page with one rendered line of text, and the inputs that the three PP-OCR models want of it:
 * sizes and normalisation are those PaddleOCR uses. Colour planes would be blue, green, red; the
 * page is grey.
 */
public final class TextPage {
  /** What is written on the page. */
  public static final String TEXT = "Served by Pipelane";

  /** Where the ink of the text is. */
  public static final Rectangle INK = new Rectangle(172, 306, 304, 31);

  /** What the direction classifier and the recogniser see of the page. */
  public static final Rectangle LINE = new Rectangle(163, 297, 320, 48);

  private static final String RESOURCE = "page.png";
  private static final String INPUT = "x";
  private static final int DIRECTION_WIDTH = 192;
  private static final float[] PAGE_MEAN = {0.485f, 0.456f, 0.406f};
  private static final float[] PAGE_DEVIATION = {0.229f, 0.224f, 0.225f};
  private static final float[] HALF = {0.5f, 0.5f, 0.5f};

  private final Picture page;

  private TextPage(Picture page) {
    this.page = page;
  }

  /** Reads the page, which is part of the demo. */
  public static TextPage load() throws IOException {
    try (InputStream file = open()) {
      return new TextPage(Picture.read(file));
    }
  }

  /** The page as a PNG file. */
  public static InputStream open() {
    InputStream file = TextPage.class.getResourceAsStream(RESOURCE);
    if (file == null) {
      throw new IllegalStateException("the demo's " + RESOURCE + " is not on the class path");
    }
    return file;
  }

  /** For the detector: the whole page, FP32 [1,3,640,640]. */
  public List<Tensor> forDetection() {
    return List.of(tensor(page, PAGE_MEAN, PAGE_DEVIATION));
  }

  /** For the recogniser: the line, FP32 [1,3,48,320]. */
  public List<Tensor> forRecognition() {
    return List.of(tensor(page.crop(LINE), HALF, HALF));
  }

  /** For the direction classifier: the line, narrowed to FP32 [1,3,48,192]. */
  public List<Tensor> forDirection(boolean upsideDown) {
    Picture line = page.crop(LINE);
    Picture directed = upsideDown ? line.turned() : line;
    return List.of(tensor(directed.resized(DIRECTION_WIDTH, LINE.height()), HALF, HALF));
  }

  private static Tensor tensor(Picture picture, float[] mean, float[] deviation) {
    return Tensor.of(
        INPUT, picture.planes(mean, deviation), 1, 3, picture.height(), picture.width());
  }
}
