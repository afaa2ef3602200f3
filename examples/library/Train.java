/** Train WEIGHTS STEPS: steps on one sequence, through hone_jni.c. */
public class Train {
  static native long open(String weights, long steps);
  static native double step(long session, int[] ids, int[] targets, int[] starts);
  static native void close(long session);

  public static void main(String[] arguments) {
    System.loadLibrary("hone_jni");
    int steps = Integer.parseInt(arguments[1]);
    int[] ids = {3, 14, 15, 9, 2, 6, 5, 35};
    int[] targets = {14, 15, 9, 2, 6, 5, 35, -100};
    int[] starts = new int[ids.length];
    long session = open(arguments[0], steps);
    if (session == 0)
      System.exit(1);
    for (int step = 1; step <= steps; ++step)
      System.out.println("step " + step + " loss " + step(session, ids, targets, starts));
    close(session);
  }
}
