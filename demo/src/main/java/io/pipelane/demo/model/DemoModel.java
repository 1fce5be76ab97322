package io.pipelane.demo.model;

import java.io.InputStream;
import java.util.Arrays;
import java.util.List;

/** A real model that a Maven artifact ships, found unmodified on the class path. */
public enum DemoModel {
  /** Sentence embedding, 6 layers, fp32. */
  MINILM(
      "minilm-l6-v2",
      "all-minilm-l6-v2.onnx",
      90_387_606,
      47_668_224,
      "759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e"),
  /** The same, quantised to int8. */
  MINILM_Q(
      "minilm-l6-v2-q",
      "all-minilm-l6-v2-q.onnx",
      22_972_370,
      11_917_056,
      "afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1"),
  /** Sentence embedding, 12 layers, int8. */
  BGE_SMALL_Q(
      "bge-small-en-q",
      "bge-small-en-v1.5-q.onnx",
      34_014_426,
      11_917_056,
      "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4"),
  /** Finds lines of text on a page. */
  PPOCR_DET(
      "ppocr-v4-det",
      "models/ch_PP-OCRv4_det_infer.onnx",
      4_745_517,
      0,
      "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9"),
  /** Tells a line of text that is upright from one that is upside down. */
  PPOCR_CLS(
      "ppocr-cls",
      "models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
      585_532,
      0,
      "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c"),
  /** Reads a line of text. */
  PPOCR_REC(
      "ppocr-v4-rec",
      "models/ch_PP-OCRv4_rec_infer.onnx",
      10_857_828,
      0,
      "01963c554a1a00203c5746bca5306fc05a1278a014495383ddd935d0d2ac0415");

  private final String modelName;
  private final String resource;
  private final long byteSize;
  private final long tableBytes;
  private final String sha256;

  DemoModel(String modelName, String resource, long byteSize, long tableBytes, String sha256) {
    this.modelName = modelName;
    this.resource = resource;
    this.byteSize = byteSize;
    this.tableBytes = tableBytes;
    this.sha256 = sha256;
  }

  /** The models that turn a sentence into a vector and come with a tokenizer. */
  public static List<DemoModel> sentenceModels() {
    return List.of(MINILM, MINILM_Q, BGE_SMALL_Q);
  }

  /** The bytes of all model files together. */
  public static long totalByteSize() {
    return Arrays.stream(values()).mapToLong(DemoModel::byteSize).sum();
  }

  /** The name it is registered and served under. */
  public String modelName() {
    return modelName;
  }

  /** Bytes of the model file. */
  public long byteSize() {
    return byteSize;
  }

  /** Bytes of its embedding tables, which the CPU reads in place. */
  public long tableBytes() {
    return tableBytes;
  }

  /** The SHA-256 digest of the model file, in lower-case hexadecimal. */
  public String sha256() {
    return sha256;
  }

  /** The model file. */
  public InputStream open() {
    return openResource(resource);
  }

  /**
   * The tokenizer file that came with a sentence model.
   *
   * @throws IllegalStateException for the other models
   */
  public InputStream openTokenizer() {
    return openResource(resource.replace(".onnx", "-tokenizer.json"));
  }

  /** The characters that {@link #PPOCR_REC} knows, one per line, in the order of its classes. */
  public static InputStream openCharacters() {
    return openResource("models/ppocr_keys_v1.txt");
  }

  private static InputStream openResource(String path) {
    InputStream stream = DemoModel.class.getClassLoader().getResourceAsStream(path);
    if (stream == null) {
      throw new IllegalStateException(
          path + " is not on the class path; is its artifact missing from the build?");
    }
    return stream;
  }
}
