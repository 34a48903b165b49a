#ifndef TEMPERATURE_H
#define TEMPERATURE_H

/* Degrees Fahrenheit of a temperature in degrees Celsius. */
double fahrenheit(double celsius);

#endif
