package io.pipelane.demo.input;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.pipelane.demo.protocol.Tensor;
import io.pipelane.runtime.Shape;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.Base64;
import org.junit.jupiter.api.Test;

class PictureTest {
  /** The picture below; its first row is filtered by what is left, its second by what is above. */
  private static final String PNG =
      "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAAAAAC4HznGAAAAEElEQVR4nGNkMDZmmjlzJgAF3wI1w2+R"
          + "hwAAAABJRU5ErkJggg==";

  private static final float[] NONE = {0, 0, 0};
  private static final float[] ONE = {1, 1, 1};

  private final Picture picture = new Picture(3, 2, new float[] {0, 51, 102, 153, 204, 255});

  @Test
  void crop_takesThePart() {
    assertPixels(new float[] {51, 102, 204, 255}, picture.crop(new Rectangle(1, 0, 2, 2)));
  }

  @Test
  void turned_isUpsideDown() {
    assertPixels(new float[] {255, 204, 153, 102, 51, 0}, picture.turned());
  }

  @Test
  void resized_interpolatesBetweenCentres() {
    Picture step = new Picture(2, 1, new float[] {0, 100});
    assertPixels(new float[] {0, 25, 75, 100}, step.resized(4, 1));
    assertPixels(new float[] {0, 25, 75, 100, 0, 25, 75, 100}, step.resized(4, 2));
    assertPixels(new float[] {50}, step.resized(1, 1));
  }

  @Test
  void planes_normaliseEachColour() {
    float[] planes =
        new Picture(1, 1, new float[] {255})
            .planes(new float[] {0, 0.5f, 1}, new float[] {1, 0.5f, 2});
    assertArrayEquals(new float[] {1, 1, 0}, planes);
  }

  @Test
  void read_ofSomethingElse_throws() {
    assertThrows(
        IOException.class, () -> Picture.read(new ByteArrayInputStream(new byte[] {1, 2, 3})));
  }

  @Test
  void read_ofAGreyPng_givesItsPixels() throws IOException {
    byte[] png = Base64.getDecoder().decode(PNG);
    assertPixels(
        new float[] {0, 51, 102, 153, 204, 255}, Picture.read(new ByteArrayInputStream(png)));
  }

  @Test
  void textPage_hasInkWhereItSays() throws Exception {
    TextPage page = TextPage.load();
    assertEquals(Shape.of(1, 3, 640, 640), page.forDetection().getFirst().shape());
    assertEquals(Shape.of(1, 3, 48, 192), page.forDirection(true).getFirst().shape());
    Tensor line = page.forRecognition().getFirst();
    assertEquals(Shape.of(1, 3, 48, 320), line.shape());

    float[] pixels = line.floats();
    int left = Integer.MAX_VALUE;
    int right = 0;
    for (int i = 0; i < 48 * 320; i++) {
      if (pixels[i] < 0) {
        left = Math.min(left, i % 320);
        right = Math.max(right, i % 320 + 1);
      }
    }
    assertEquals(TextPage.INK.width(), right - left);
  }

  private static void assertPixels(float[] expected, Picture actual) {
    float[] grey = new float[expected.length];
    float[] planes = actual.planes(NONE, ONE);
    for (int i = 0; i < grey.length; i++) {
      grey[i] = planes[i] * 255;
    }
    assertArrayEquals(expected, grey, 1e-3f);
  }
}
